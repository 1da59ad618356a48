mdadm --create /dev/md0 --run --level=0 --chunk=64 --raid-devices=2 /dev/vda /dev/vdb
load /dev/md0 --rw randread --bs 4k --iodepth 4
watch_it slower /dev/md0
