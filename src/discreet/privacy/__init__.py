"""What a promise is and how promises add up; knows nothing of data or noise."""
