client_of nfs4 10.0.0.1:/ vers=4.2,addr=10.0.0.1,clientaddr=$address
