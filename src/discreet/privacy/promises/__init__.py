"""What is promised to whom, and what ran: measures, neighbours, events, receipts."""
