"""What models predict, and what is known of the rows: columns of files, ids, labels."""
