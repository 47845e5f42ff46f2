"""Tables as the tools of the field write them: one reader, which goes by evidence and says what it took for what."""
