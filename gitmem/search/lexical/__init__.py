"""Documents by their words: an index by Whoosh, and how its postings are ranked."""
