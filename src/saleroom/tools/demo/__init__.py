"""`saleroom demo`: a furnished house to look at. It knows the house from outside only, by HTTP."""
