mkdir /mnt
mke2fs -q /dev/sda > /dev/null
mount -t ext4 /dev/sda /mnt
profile_writes /mnt
(sleep 18; disk write=14000) &
load /mnt --size 64m --direct --rw write --bs 64k --iodepth 4
watch_it falls /dev/sda
disk write=2000
load /mnt --size 64m --direct --rw write --bs 64k --iodepth 4
watch_it steady /dev/sda
