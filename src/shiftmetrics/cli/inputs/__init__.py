"""Files and objects that are typed: opened, read, and told apart by what they hold."""
