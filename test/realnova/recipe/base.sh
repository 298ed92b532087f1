# Runs inside the tree of the base services: what a Nova needs around it.
apt-get update
apt-get -y install --no-install-recommends \
	mariadb-server rabbitmq-server memcached python3-keystone python3-placement uwsgi-core uwsgi-plugin-python3
