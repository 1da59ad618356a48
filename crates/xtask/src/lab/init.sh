#!/bin/busybox sh
# The first process of a guest of the lab: mounts what programs expect, runs one case, and ends the machine.
/bin/busybox --install -s /bin
mkdir -p /proc /sys /dev /tmp /run /sbin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/shm
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
mount -t tracefs tracefs /sys/kernel/tracing
mount -t configfs configfs /sys/kernel/config
mount -t cgroup2 cgroup2 /sys/fs/cgroup
export PATH=/bin:/sbin:/usr/sbin HOME=/tmp TERM=dumb
stty -F /dev/ttyS1 raw
ip link set lo up

# tell NAME CODE FILE: an answer for the host.
tell() {
    { echo "BEGIN $1 $2"; cat "$3"; echo; echo "END $1"; } > /dev/ttyS1
}

# say TEXT: what happens, for who reads along.
say() {
    echo "SAY $*" > /dev/ttyS1
}

# disk WORDS: what the disks that the host serves take from now on, in microseconds (read=2000 flush=20000).
disk() {
    echo "HOST $*" > /dev/ttyS1
    sleep 1
}

# told_of_profile CODE: why there is none; one that is not clean is one.
told_of_profile() {
    [ "$1" -le 1 ] || tell failed "$1" /tmp/profile.err
}

# profile TARGET [TIME]: what the device does when it is well.
profile() {
    say "profile of $1"
    halfpower check "$1" --for-diagnosis --no-write --budget "${2:-60s}" --db /tmp/kept.db --json \
        > /tmp/profile.json 2> /tmp/profile.err
    told_of_profile $?
}

# profile_writes FOLDER: the same with writes, to a file of its own.
profile_writes() {
    say "profile of $1"
    halfpower check "$1" --for-diagnosis --size 64m --budget 60s --db /tmp/kept.db --json \
        > /tmp/profile.json 2> /tmp/profile.err
    told_of_profile $?
}

# group NAME: a control group for I/O.
group() {
    echo +io > /sys/fs/cgroup/cgroup.subtree_control
    mkdir "/sys/fs/cgroup/$1"
}

# load_in GROUP WORDS: a load in a control group.
load_in() {
    group=$1
    shift
    (echo 0 > /sys/fs/cgroup/$group/cgroup.procs; exec halfpower run "$@" --runtime 120s --no-save > /dev/null 2>&1) &
    loads="$loads $!"
}

# load WORDS: a program that goes on until it is ended.
load() {
    halfpower run "$@" --runtime 120s --no-save > /tmp/load.out 2>&1 &
    loads="$loads $!"
}

# watch NAME TARGET: the diagnosis of what goes on.
watch_it() {
    say "diagnosis of $2"
    sleep 3
    kill -0 $loads || tell "load-of-$1" 1 /tmp/load.out
    profile=
    [ -e /tmp/kept.db ] && profile="--profile last --db /tmp/kept.db"
    halfpower diagnose "$2" --for 20s $profile --json \
        > /tmp/found.json 2> /tmp/found.err
    code=$?
    [ -s /tmp/found.json ] || cp /tmp/found.err /tmp/found.json
    tell "$1" $code /tmp/found.json
    kill $loads
    loads=
}

# run_it NAME WORDS: one run, which has to end by itself.
run_it() {
    name=$1
    shift
    timeout 90 halfpower run "$@" --no-save --json > /tmp/run.json 2> /tmp/run.err
    code=$?
    [ -s /tmp/run.json ] || cp /tmp/run.err /tmp/run.json
    tell "$name" $code /tmp/run.json
}

# delayed NAME DEVICE MS: a device of the mapper that takes so long for each read.
delayed() {
    dmsetup create "$1" --table "0 $(blockdev --getsz "$2") delay $2 0 $3"
    [ -e "/dev/mapper/$1" ] || dmsetup mknodes "$1"
}

# slower NAME DEVICE MS: the same device takes so long now.
slower() {
    dmsetup reload "$1" --table "0 $(blockdev --getsz "$2") delay $2 0 $3"
    dmsetup suspend "$1"
    dmsetup resume "$1"
}

# slow_scsi NS: the disks of scsi_debug take so long from now on, which they refuse while they are asked.
slow_scsi() {
    for _ in 1 2 3 4 5 6 7 8; do
        echo "$1" > /sys/bus/pseudo/drivers/scsi_debug/ndelay && return
        sleep 1
    done
    say "the delay was not set"
}

# network: that of the guests, at the address that the host has given.
network() {
    hostname "guest-${address##*.}"
    ip addr add "$address/24" dev eth0
    ip link set eth0 up
}

# slower_network TIME: what this guest sends takes so long.
slower_network() {
    /sbin/tc qdisc replace dev eth0 root netem delay "$1" limit 10000
}

# mounted KIND SOURCE OPTIONS: below /mnt, as soon as the server answers.
mounted() {
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        mount -t "$1" -o "$3" "$2" /mnt 2> /tmp/why && return
        sleep 2
    done
    dmesg | tail -n 5 >> /tmp/why
    tell failed 1 /tmp/why
}

# client_of KIND SOURCE OPTIONS: a client of that export, as profiled and over a slower network.
client_of() {
    network
    mkdir -p /mnt
    slower_network 2ms
    mounted "$@"
    dd if=/dev/urandom of=/mnt/data bs=1M count=64 2> /dev/null
    profile /mnt/data
    load /mnt/data --rw randread --bs 4k --rate-iops 40 --arrival poisson
    watch_it same /mnt
    slower_network 40ms
    load /mnt/data --rw randread --bs 4k --rate-iops 20 --arrival poisson
    watch_it slower /mnt
}

# export_disk: the first disk, below /export.
export_disk() {
    mkdir -p /export
    mke2fs -q /dev/sda > /dev/null
    mount -t ext4 /dev/sda /export
    grep -q ' /export ' /proc/mounts || { echo 'no file system to export' > /tmp/why; tell failed 1 /tmp/why; }
}

# serve: until the host ends this guest.
serve() {
    say "serving"
    while :; do sleep 60; done
}

while read -r module; do
    # What a module is loaded with stands behind its name.
    modprobe $module || say "no module $module"
done < /modules
# Disks are found in the background, and have no size at first; one whose first commands were lost among
# those of its neighbours is asked again.
sleep 3
for _ in 1 2 3 4 5 6 7 8 9 10; do
    grep -qx 0 /sys/block/sd*/size 2> /dev/null || break
    sleep 1
    for disk in /sys/block/sd*; do
        [ "$(cat $disk/size)" != 0 ] || echo 1 > $disk/device/rescan
    done
done

loads=
. /case.sh
say "done"
sync
poweroff -f
