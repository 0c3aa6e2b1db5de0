import {
  natsKinds,
  postgresKinds,
  restateKinds,
  valkeyKinds,
  type FindingKind,
} from './engine-finding-kinds.ts';

/**
 * All findings of `millrace-admin doctor`. The ids are stable: scripts and alerts may compare them. `docs/runbooks/doctor.md` has
 * the same table, and a test compares both. Words in braces are replaced by the values of a finding.
 */

const files = {
  'env-file-missing': {
    meaning: 'A file with the settings of a process does not exist.',
    remedy:
      'On a machine with all roles: `millrace-admin init --folder {folder}`. On another one, restore it, or delete the folder of the role.',
  },
  'env-file-unreadable': {
    meaning: 'A file with settings cannot be read by this command.',
    remedy: 'Run `millrace-admin doctor` as root, and check `ls -l {file}`.',
  },
  'setting-invalid': {
    meaning: 'A setting is wrong or missing. The process does not start with it.',
    remedy: 'Correct {setting} in {file}, then restart {unit}.',
  },
  'file-missing': {
    meaning: 'A setting names a file that does not exist.',
    remedy: 'Restore {path}, or correct {setting} in {file}.',
  },
  'file-empty': {
    meaning: 'A file with a secret is empty.',
    remedy: 'Restore the content of {path}, which {setting} in {file} names.',
  },
  'file-exposed': {
    meaning: 'Every user of this machine can read a secret.',
    remedy: '`chmod o-rwx {path}`. Replace the secret if another user may have read it.',
  },
  'secret-in-settings': {
    meaning: 'A secret is in a file of settings that other users of this machine can read.',
    remedy:
      'Move it to a file, and set {setting}_FILE to its path; or `chmod 600 {file}`. Replace the secret if another user may have read it.',
  },
  'file-unreadable-by-user': {
    meaning: 'The user of a process cannot read a file that its settings name.',
    remedy: '`chgrp {user} {path} && chmod g+r {path}`, also for its folder with `chmod g+rx`.',
  },
  'sealing-keys-differ': {
    meaning:
      'Api and worker have different keys for secrets in the database. One cannot read secrets of the other.',
    remedy:
      'Make the files of MILLRACE_SEALING_KEYS_FILE in api.env and worker.env equal, with the keys of both, then restart both.',
  },
  'sealing-key-active-unknown': {
    meaning: 'MILLRACE_SEALING_KEY_ACTIVE names a key that the process does not have.',
    remedy: 'Set MILLRACE_SEALING_KEY_ACTIVE in {file} to an id in the file of MILLRACE_SEALING_KEYS_FILE.',
  },
  'key-feed-keys-differ': {
    meaning:
      'Two processes have different keys of the key feed. Gateways then cannot read API keys and models.',
    remedy:
      'Make the files of MILLRACE_KEY_FEED_KEYS_FILE of api, worker and gateway equal, then restart them.',
  },
  'auth-secret-missing': {
    meaning: 'The api has no secret for sessions, so users cannot sign in.',
    remedy:
      'Set MILLRACE_AUTH_SECRET_FILE in {file} to a file with the output of `openssl rand -base64 32`, readable only for root and millrace-api.',
  },
} as const satisfies Record<string, FindingKind>;

const certificates = {
  'ca-invalid': {
    meaning: 'The file of the authority contains no certificate that can be read.',
    remedy: 'Restore {path}, which MILLRACE_ENGINE_CA_FILE names.',
  },
  'ca-expired': {
    meaning: 'The certificate of the authority is not valid now. Processes refuse every engine.',
    remedy: 'Create a new authority, issue new certificates for all servers, and replace {path}.',
  },
  'ca-expires-soon': {
    meaning: 'The certificate of the authority expires within 30 days.',
    remedy:
      'Create a new authority, append its certificate to {path}, and issue new certificates for all servers.',
  },
  'certificate-invalid': {
    meaning: 'The file of a certificate contains no certificate that can be read.',
    remedy:
      'Delete {path} and run `millrace-admin init`, or replace it if another authority issued it. Reload it: {reload}.',
  },
  'certificate-expired': {
    meaning: 'The certificate of a server is not valid now. Its clients refuse it.',
    remedy:
      'Delete {path} and run `millrace-admin init`, or replace it if another authority issued it. Reload it: {reload}.',
  },
  'certificate-expires-soon': {
    meaning: 'The certificate of a server expires within 30 days.',
    remedy:
      'Delete {path} and run `millrace-admin init`, or replace it if another authority issued it. Reload it: {reload}.',
  },
  'certificate-name': {
    meaning: 'The certificate of a server does not contain the name or address that clients use.',
    remedy:
      'Delete {path} and run `millrace-admin init`, or replace it by one of your authority with {name}. Reload it: {reload}.',
  },
  'certificate-key-mismatch': {
    meaning: 'The key in the file does not belong to the certificate. The server cannot load them again.',
    remedy: 'Write the key of {path} to {key}, or issue both again.',
  },
  'certificate-issuer': {
    meaning: 'Another authority than that of the settings issued the certificate of a server.',
    remedy:
      'Issue the certificate of {server} with the authority in {ca}, or append its authority to that file.',
  },
  'certificate-not-loaded': {
    meaning: 'The server still uses another certificate than the one in its file.',
    remedy: 'Reload it: {reload}.',
  },
} as const satisfies Record<string, FindingKind>;

const processes = {
  'process-not-running': {
    meaning: 'A process does not answer at its address.',
    remedy: '`systemctl status {unit}` and `journalctl -u {unit}`, then `systemctl restart {unit}`.',
  },
  'process-not-ready': {
    meaning: 'A process runs, and one of its own checks fails.',
    remedy: '`journalctl -u {unit}` has the reason of the check {check}.',
  },
  'process-version': {
    meaning: 'A process runs another version or commit than the installed one.',
    remedy: '`systemctl restart {unit}`.',
  },
  'health-token-refused': {
    meaning: 'A process refuses the token of its settings: the setting was changed after it started.',
    remedy: '`systemctl restart {unit}`.',
  },
  'public-unreachable': {
    meaning: 'The public address does not answer from this machine.',
    remedy:
      '`systemctl status millrace-proxy`. Check the DNS name, the firewall and MILLRACE_HTTP_PUBLIC_URL.',
  },
  'public-unreachable-from-here': {
    meaning:
      'The public address is not one of this machine, and does not answer from it. Behind NAT, clients may reach it.',
    remedy:
      'Run `curl -kI {url}` on another machine. If that works, add `127.0.0.1 {host}` to `/etc/hosts` of this one, to check its proxy.',
  },
  'public-redirect': {
    meaning: 'The public address without TLS does not redirect to the one with TLS.',
    remedy: 'Check HTTP_BIND in {file}, and run `systemctl restart millrace-proxy`.',
  },
  'public-route-api': {
    meaning: 'The public address does not send requests to the api.',
    remedy: 'Check API_1 in {file}, and run `systemctl restart millrace-proxy`.',
  },
  'public-route-gateway': {
    meaning: 'The public address does not send inference to the gateway.',
    remedy: 'Check GATEWAY_1 in {file}, and run `systemctl restart millrace-proxy`.',
  },
} as const satisfies Record<string, FindingKind>;

const machine = {
  'clock-wrong': {
    meaning:
      'The clocks of this machine and of the database differ by more than 0.5 s. Processes stop working.',
    remedy:
      '`timedatectl set-ntp true` on this machine and on that of PostgreSQL, then `timedatectl timesync-status`.',
  },
  'clock-not-synchronised': {
    meaning: 'Time synchronisation does not work, so the clock will drift.',
    remedy: '`apt-get install systemd-timesyncd && timedatectl set-ntp true`.',
  },
  'disk-full': {
    meaning: 'A folder has less than 10 % or less than 1 GiB of free space. Engines stop on a full disk.',
    remedy:
      'Delete files or enlarge the disk of {path}. `du -xh --max-depth=2 {path}` has the sizes of its folders.',
  },
  'folder-unresponsive': {
    meaning:
      'A folder does not respond, as on a network file system without its server. Checks that need the folder do not run.',
    remedy:
      '`cat /proc/mounts` names the server of each mount. Repair that of {path}, or unmount it with `umount --lazy`.',
  },
  'file-limit': {
    meaning: 'A process may open fewer than 8192 files. Each connection needs one.',
    remedy: 'Set `LimitNOFILE=65536` with `systemctl edit {unit}`, and restart it.',
  },
  'unit-failed': {
    meaning: 'A unit of systemd has failed.',
    remedy: '`journalctl -u {unit}` has the reason. Then run `systemctl restart {unit}`.',
  },
  'unit-disabled': {
    meaning: 'A unit of systemd does not start at boot.',
    remedy: '`systemctl enable {unit}`.',
  },
} as const satisfies Record<string, FindingKind>;

const fleet = {
  'cluster-credential-missing': {
    meaning: 'The credential of a cluster or storage node is missing, or one of its files cannot be used.',
    remedy: 'Add the credential to the file of MILLRACE_FLEET_CREDENTIALS_FILE, with files that exist.',
  },
  'cluster-unreachable': {
    meaning: 'An endpoint of a cluster does not answer.',
    remedy: 'Check the machine, its firewall, and `endpoint` of the cluster in MILLRACE_PROVIDERS.',
  },
  'cluster-client-refused': {
    meaning: 'The engine of a cluster does not trust the credential of the workers.',
    remedy:
      'For Incus, run `incus config trust add-certificate CERTIFICATE` on a member. For Ironic, correct its password.',
  },
  'cluster-certificate': {
    meaning: 'A cluster shows another certificate than the pinned one.',
    remedy:
      'If you replaced it, append the new one to `serverCertificateFile` of the credential. Otherwise someone may be reading the connection.',
  },
  'cluster-image-missing': {
    meaning: 'A cluster has no image with the name of `defaultImage`, so rentals fail.',
    remedy: 'Import the image: `incus image copy images:ubuntu/24.04/cloud local: --alias {image}`.',
  },
  'storage-unreachable': {
    meaning: 'The storage agent of a storage node does not answer or refuses the workers.',
    remedy:
      '`systemctl status millrace-storage` on the node. Check `endpoint` and certificates of the storage node.',
  },
  'mail-unreachable': {
    meaning: 'The email server does not answer.',
    remedy: 'Check MILLRACE_SMTP_URL, and that the firewall allows its port.',
  },
  'check-failed': {
    meaning: 'A check of this command did not end in time, or has an error of its own.',
    remedy: 'Run `millrace-admin doctor` again. If it repeats, report it with the text.',
  },
} as const satisfies Record<string, FindingKind>;

export const findingKinds = {
  ...files,
  ...certificates,
  ...postgresKinds,
  ...natsKinds,
  ...valkeyKinds,
  ...restateKinds,
  ...processes,
  ...machine,
  ...fleet,
};

export type FindingId = keyof typeof findingKinds;

/** Sections of the document. */
export const findingSections = {
  Files: files,
  Certificates: certificates,
  PostgreSQL: postgresKinds,
  NATS: natsKinds,
  Valkey: valkeyKinds,
  Restate: restateKinds,
  'Processes and the public address': processes,
  Machine: machine,
  'Clusters, storage nodes and email': fleet,
} as const;
