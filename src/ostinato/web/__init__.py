"""Reading the public web: an address is checked at each hop and the connection goes to what was checked; all of it bounded."""
