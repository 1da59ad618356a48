client_of cifs //10.0.0.1/export ip=10.0.0.1,username=lab,password=,vers=3.1.1,cache=none
