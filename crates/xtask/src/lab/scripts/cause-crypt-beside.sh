head -c 64 /dev/urandom > /tmp/key
dmsetup create first --table '0 1048576 linear /dev/vda 0'
dmsetup create second --table '0 1048576 delay /dev/vda 1048576 30'
dmsetup mknodes
cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 512 --key-file /tmp/key /dev/mapper/first secret 2> /tmp/why || tell failed 1 /tmp/why
dmsetup mknodes
load /dev/mapper/second --rw randread --bs 4k --iodepth 1
watch_it beside /dev/mapper/second
