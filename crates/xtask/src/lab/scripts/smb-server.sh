network
export_disk
mkdir -p /etc/samba /var/lib/samba/private /var/cache/samba /var/log/samba /run/samba
printf 'root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' > /etc/passwd
printf 'root:x:0:\nnogroup:x:65534:\n' > /etc/group
cat > /etc/samba/smb.conf <<END
[global]
server role = standalone server
map to guest = bad user
guest account = root
disable spoolss = yes
load printers = no
[export]
path = /export
read only = no
guest ok = yes
force user = root
END
smbd -D -s /etc/samba/smb.conf
serve
