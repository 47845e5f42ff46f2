"""A fitted model read at coded samples: its scores, decisions and losses."""
