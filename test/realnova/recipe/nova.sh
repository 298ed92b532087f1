# Runs inside the tree of a Nova image: installs Nova and gives the image the names, paths
# and the account that the operator's pods count on.

# First of all, so that Debian's scripts take this account instead of making one.
groupadd --gid 42424 nova
useradd --uid 42424 --gid 42424 --home-dir /var/lib/nova --shell /usr/sbin/nologin --no-create-home nova

apt-get update
apt-get -y install --no-install-recommends \
	nova-conductor nova-scheduler nova-consoleproxy uwsgi-core uwsgi-plugin-python3 python3-oslo.config

# A process that is given no --config-file reads /etc/nova/nova.conf beside --config-dir.
rm -rf /etc/nova/nova.conf /etc/nova/api-paste.ini /etc/nova/logging.conf /etc/nova/policy.d
chmod 755 /etc/nova

mkdir -p /var/lib/openstack/bin /var/lib/openstack/etc/nova
ln -s /usr/share/nova-common/api-paste.ini /var/lib/openstack/etc/nova/api-paste.ini
install -m 755 /recipe/files/* /var/lib/openstack/bin/

# Mount points, for runners that can't make them under a read-only root.
mkdir -p /etc/nova/nova.conf.d /etc/nova/scheduler.conf.d /etc/nova/conductor.conf.d /etc/nova/novncproxy.conf.d \
	/etc/nova/compute-config /etc/nova/compute-pool.conf.d /etc/nova-db-tls/api /etc/nova-db-tls/cell /etc/rabbitmq-ca
