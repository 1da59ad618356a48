for engine in $engines; do
    modprobe scsi_debug dev_size_mb=256 ndelay=1000000
    sleep 2
    disk=$(ls /sys/block | grep ^sd)
    (sleep 4; echo 1 > /sys/block/$disk/device/delete) &
    run_it $engine /dev/$disk --rw randread --bs 4k --iodepth 4 --ioengine $engine --runtime 10s
    wait
    modprobe -r scsi_debug
done
