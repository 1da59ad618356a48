for engine in $engines; do
    modprobe scsi_debug dev_size_mb=64 ndelay=1000000
    sleep 2
    disk=$(ls /sys/block | grep ^sd)
    echo 5 > /sys/block/$disk/device/timeout
    (sleep 4; echo 1 > /sys/bus/pseudo/drivers/scsi_debug/every_nth; echo 4 > /sys/bus/pseudo/drivers/scsi_debug/opts) &
    run_it $engine /dev/$disk --rw randread --bs 4k --iodepth 4 --ioengine $engine --runtime 8s --io-timeout 6s
    wait
    echo 0 > /sys/bus/pseudo/drivers/scsi_debug/opts
    echo 0 > /sys/bus/pseudo/drivers/scsi_debug/every_nth
    sleep 5
    modprobe -r scsi_debug
done
