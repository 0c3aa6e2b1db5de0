/** Findings about PostgreSQL with its backups, NATS, Valkey and Restate. */

export interface FindingKind {
  /** The problem in general. */
  readonly meaning: string;
  /** The command to run, or the setting to change. */
  readonly remedy: string;
}

export const postgresKinds = {
  'postgres-unreachable': {
    meaning: 'PostgreSQL does not answer.',
    remedy:
      '`systemctl status postgresql`, then `systemctl start postgresql`. Check the address in {setting}.',
  },
  'postgres-tls': {
    meaning: 'The connection to PostgreSQL is not encrypted and verified, or its certificate is refused.',
    remedy:
      'End the URL in {setting} with `?sslmode=verify-full`, set `ssl = on` in postgresql.conf, and check MILLRACE_ENGINE_CA_FILE.',
  },
  'postgres-login-refused': {
    meaning: 'PostgreSQL refuses the login of a role.',
    remedy:
      "Set the password again: `alter role {user} password '…'` as an administrator, with that of {setting}.",
  },
  'postgres-role-missing': {
    meaning: 'PostgreSQL does not let the login use the database role of its process.',
    remedy: 'As an administrator of PostgreSQL: `grant {role} to {user}`.',
  },
  'postgres-version': {
    meaning: 'PostgreSQL is older than version 15.',
    remedy: 'Upgrade PostgreSQL to version 15 or later with `pg_upgradecluster`.',
  },
  'postgres-read-only': {
    meaning: 'The server refuses writes: it is a standby, or an operator made it read-only.',
    remedy:
      'Name the primary in {setting}, or end the read-only mode: `alter database {database} reset default_transaction_read_only`.',
  },
  'schema-missing': {
    meaning: 'The database was never migrated.',
    remedy: '`millrace-admin migrate` with the login of the owner of the database.',
  },
  'schema-old': {
    meaning: 'The schema of the database is older than this release. New processes do not start.',
    remedy: '`millrace-admin migrate` with the login of the owner of the database.',
  },
  'schema-new': {
    meaning: 'The schema of the database is newer than this release.',
    remedy: 'Install the release that migrated the database, on this machine too.',
  },
  'postgres-rights': {
    meaning: 'The login of a process has rights that a stolen password could use for more than the database.',
    remedy: '`alter role {user} nosuperuser nocreaterole nocreatedb nobypassrls` as an administrator.',
  },
  'postgres-fsync': {
    meaning: '`fsync` is off. After a power failure, the whole database can be unusable.',
    remedy: '`alter system reset fsync; select pg_reload_conf()` as an administrator.',
  },
  'postgres-synchronous-commit': {
    meaning: '`synchronous_commit` is off. After a crash, confirmed payments can be missing.',
    remedy:
      '`alter system reset synchronous_commit; select pg_reload_conf()` as an administrator, and remove it from the role and the database.',
  },
  'postgres-full-page-writes': {
    meaning: '`full_page_writes` is off. After a power failure, pages of the database can be damaged.',
    remedy: '`alter system reset full_page_writes; select pg_reload_conf()` as an administrator.',
  },
  'postgres-connections': {
    meaning: 'More than 80 % of the connections of PostgreSQL are in use.',
    remedy:
      'Find their owners in `pg_stat_activity`, then reduce MILLRACE_POSTGRES_POOL_SIZE or increase `max_connections` and restart PostgreSQL.',
  },
  'restore-unconfirmed': {
    meaning: 'The database was restored, and the restore is not confirmed. Credit and machines wait.',
    remedy: '`millrace-admin restore status`, then `millrace-admin restore confirm --reason TEXT`.',
  },
  'backup-missing': {
    meaning: 'There is no backup of the database.',
    remedy: '`millrace-admin backup`, then `systemctl start millrace-backup.timer`.',
  },
  'backup-old': {
    meaning: 'The newest backup is older than 26 hours.',
    remedy: '`systemctl status millrace-backup.timer millrace-backup.service`, then `millrace-admin backup`.',
  },
  'backup-empty': {
    meaning: 'The newest backup is an empty file.',
    remedy: '`journalctl -u millrace-backup.service` has the reason. Then run `millrace-admin backup`.',
  },
} as const satisfies Record<string, FindingKind>;

export const natsKinds = {
  'nats-unreachable': {
    meaning: 'NATS does not answer.',
    remedy:
      '`systemctl status millrace-nats`, then `systemctl start millrace-nats`. Check MILLRACE_NATS_URLS.',
  },
  'nats-tls': {
    meaning: 'The connection to NATS is not encrypted, or its certificate is refused.',
    remedy:
      'Use `tls://` in MILLRACE_NATS_URLS, and check MILLRACE_ENGINE_CA_FILE and the certificate of NATS.',
  },
  'nats-credentials-refused': {
    meaning: 'NATS refuses the key of a role.',
    remedy:
      'Run `millrace-admin init`, then `systemctl reload millrace-nats`. If `init` lists the file as changed by you, replace {path} with the output of `millrace-admin nats users`.',
  },
  'nats-monitor-unreachable': {
    meaning: 'The monitor of NATS does not answer, so its settings are unknown.',
    remedy: 'Set `http: "127.0.0.1:8222"` in {path}, and run `systemctl restart millrace-nats`.',
  },
  'nats-version': {
    meaning: 'NATS is older than version 2.15.',
    remedy: 'Install NATS 2.15 or later, and run `systemctl restart millrace-nats`.',
  },
  'nats-jetstream-off': {
    meaning: 'JetStream is off, so events and usage are not stored.',
    remedy: 'Add the block `jetstream` to {path}, and run `systemctl restart millrace-nats`.',
  },
  'nats-not-synced': {
    meaning: 'NATS confirms messages before they are on the disk. A power failure can lose usage.',
    remedy: 'Set `sync_interval: always` in the block `jetstream` of {path}, and restart millrace-nats.',
  },
  'nats-permission-missing': {
    meaning: 'The users file of NATS lacks a permission that this release needs.',
    remedy:
      'Run `millrace-admin init`, then `systemctl reload millrace-nats`. If `init` lists the file as changed by you, replace {path} with the output of `millrace-admin nats users`.',
  },
  'nats-config-not-loaded': {
    meaning: 'A configuration file of NATS was changed after NATS had loaded it.',
    remedy: '`systemctl reload millrace-nats`.',
  },
  'nats-store-full': {
    meaning: 'The store of NATS is more than 80 % full. Gateways stop when it is full.',
    remedy: 'Increase `max_file_store` in {path}, and check why workers do not read the streams.',
  },
  'nats-stream-missing': {
    meaning: 'A stream of the product does not exist.',
    remedy: '`systemctl restart millrace-worker`: a worker creates its streams when it starts.',
  },
} as const satisfies Record<string, FindingKind>;

export const valkeyKinds = {
  'valkey-unreachable': {
    meaning: 'Valkey does not answer.',
    remedy: '`systemctl status millrace-valkey`, then `systemctl start millrace-valkey`. Check {setting}.',
  },
  'valkey-tls': {
    meaning: 'The connection to Valkey is not encrypted, or its certificate is refused.',
    remedy: 'Use `rediss://` in {setting}, and check MILLRACE_ENGINE_CA_FILE and the certificate of Valkey.',
  },
  'valkey-credentials-refused': {
    meaning: 'Valkey refuses the user or the password of a role.',
    remedy:
      'Run `millrace-admin init`, then `systemctl restart millrace-valkey`. If `init` lists the file as changed by you, replace {path} with the output of `millrace-admin valkey users`.',
  },
  'valkey-version': {
    meaning: 'Valkey is older than version 8.',
    remedy: 'Install Valkey 8 or later, and run `systemctl restart millrace-valkey`.',
  },
  'valkey-persistence': {
    meaning:
      'Valkey saves its data. Credit that was returned could be spent again after it loads an old copy.',
    remedy: 'Set `save ""` and `appendonly no` in {path}, and run `systemctl restart millrace-valkey`.',
  },
  'valkey-eviction': {
    meaning: 'Valkey removes keys when its memory is full, also credit leases.',
    remedy: 'Set `maxmemory-policy noeviction` in {path}, and run `systemctl restart millrace-valkey`.',
  },
  'valkey-rules-missing': {
    meaning: 'The user of a role lacks a command or key that this release needs.',
    remedy:
      'Run `millrace-admin init`, then `systemctl restart millrace-valkey`. If `init` lists the file as changed by you, replace {path} with the output of `millrace-admin valkey users`.',
  },
  'valkey-memory': {
    meaning: 'Valkey uses more than 90 % of its memory. It refuses requests when it is full.',
    remedy: 'Increase `maxmemory` in {path}, and run `systemctl restart millrace-valkey`.',
  },
} as const satisfies Record<string, FindingKind>;

export const restateKinds = {
  'restate-ingress-unreachable': {
    meaning: 'The ingress of Restate does not answer, so rentals do not continue.',
    remedy: '`systemctl status millrace-restate`. Check MILLRACE_RESTATE_INGRESS_URL in {file}.',
  },
  'restate-admin-unreachable': {
    meaning: 'The admin API of Restate does not answer.',
    remedy: '`systemctl status millrace-restate`. Check MILLRACE_RESTATE_ADMIN_URL in {file}.',
  },
  'restate-version': {
    meaning: 'Restate is older than version 1.7.',
    remedy: 'Install Restate 1.7 or later, and run `systemctl restart millrace-restate`.',
  },
  'restate-identity': {
    meaning: 'Workers expect another key of Restate than the one it signs with. They refuse all its calls.',
    remedy:
      'Set MILLRACE_RESTATE_IDENTITY_KEYS={key} in {file}, and run `systemctl restart millrace-worker`.',
  },
  'restate-deployment-missing': {
    meaning: 'The handlers of the worker are not registered at Restate.',
    remedy:
      '`systemctl restart millrace-worker`: it registers {address}. Its log has the reason if Restate refuses.',
  },
} as const satisfies Record<string, FindingKind>;
