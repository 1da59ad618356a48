profile /dev/sda
load /dev/sda --rw randread --bs 4k --iodepth 4
watch_it same /dev/sda
echo 2 > /sys/block/sda/device/timeout
echo 300 > /sys/bus/pseudo/drivers/scsi_debug/every_nth
echo 4 > /sys/bus/pseudo/drivers/scsi_debug/opts
load /dev/sda --rw randread --bs 4k --iodepth 4
watch_it loses /dev/sda
echo 0 > /sys/bus/pseudo/drivers/scsi_debug/opts
echo 0 > /sys/bus/pseudo/drivers/scsi_debug/every_nth
