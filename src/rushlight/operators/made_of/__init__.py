"""What operators are made of: promotion, guards, spelling, and makers of whole families."""
