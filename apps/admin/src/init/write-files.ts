import { hostOf } from '@millrace/platform/net';
import { createIdentityKey, identityPublicKey } from '@millrace/platform/restate/identity-key';
import { ensureCertificates, ensurePublicCertificate, type PublicCertificate } from './certificates.ts';
import { renderAdminEnv, renderCommonEnv, renderProcessEnvs, renderProxyEnv } from './env-files.ts';
import {
  renderNatsConf,
  renderNatsUsersFile,
  renderRestateToml,
  renderValkeyConf,
  renderValkeyUsersFile,
} from './engine-files.ts';
import {
  renderEtcdctlEnv,
  renderEtcdEnv,
  renderInternalProxyEnv,
  renderPatroniYml,
} from './machines/engine-files.ts';
import { ensureMachineSecrets, type MachineSecrets } from './machines/secrets.ts';
import type { Access, InstallationFiles } from './installation-files.ts';
import {
  groupOf,
  groupPackages,
  machineGroups,
  processRoleNames,
  type InstallationFacts,
  type MachineFacts,
} from './layout.ts';
import { ensureSecrets, type Secrets } from './secrets.ts';
import type { GroupId } from './system-groups.ts';

const everyone: Access = { group: null, mode: 0o644 };
const ofService = (service: string): Access => ({ group: groupOf(service), mode: 0o640 });

export interface WrittenInstallation {
  readonly secrets: Secrets;
  /** Null on one machine. */
  readonly machineSecrets: MachineSecrets | null;
  /** Whether the private authority issued the certificate of the public address. */
  readonly hasPrivateCertificate: boolean;
}

/**
 * Writes the files that do not exist, and those whose content changed with the release. The environment files come last:
 * services do not start without them, so they never start with half of an installation.
 */
export async function writeFiles(
  files: InstallationFiles,
  installation: InstallationFacts,
  { groupId, publicCertificate, now, patroniSettings }: WriteOptions,
): Promise<WrittenInstallation> {
  const { machines } = installation;
  // A missing user stops the command before it writes anything.
  for (const group of groupsOf(machines)) await groupId(group);
  await createFolders(files, machines);
  await ensureCertificates(files, machines);
  const host = hostOf(new URL(installation.publicUrl));
  const request = { host, given: publicCertificate, now };
  const hasPrivateCertificate = await ensurePublicCertificate(files, request);
  const secrets = await ensureSecrets(files, installation, now);
  const machineSecrets = machines === null ? null : await ensureMachineSecrets(files);
  const identity = await files.ensure('restate/identity.pem', ofService('restate'), createIdentityKey);
  await configureEngines(files, installation, { secrets, machineSecrets });
  if (machines !== null && machineSecrets !== null) {
    await configureMachine(files, { ...installation, machines }, { machineSecrets, patroniSettings });
  }
  await configureProcesses(files, installation, {
    activeSealingKey: secrets.activeSealingKey,
    identityPublicKey: identityPublicKey(identity),
  });
  return { secrets, machineSecrets, hasPrivateCertificate };
}

export interface WriteOptions {
  readonly groupId: GroupId;
  /** Null: the private authority issues one. */
  readonly publicCertificate: PublicCertificate | null;
  readonly now: Date;
  /** The settings of Patroni on all machines: deploy/patroni/cluster.yml. */
  readonly patroniSettings: string;
}

const groupsOf = (machines: MachineFacts | null): readonly string[] => [
  ...Object.keys(groupPackages),
  ...(machines === null ? [] : machineGroups),
];

/** Also for the files that another machine made, which are written before all others. */
export async function createFolders(files: InstallationFiles, machines: MachineFacts | null): Promise<void> {
  await files.ensureFolder('', { group: null, mode: 0o755 });
  for (const folder of ['authority', 'admin']) await files.ensureFolder(folder, { group: null, mode: 0o700 });
  for (const group of groupsOf(machines)) {
    await files.ensureFolder(group.replace(/^millrace-/, ''), { group, mode: 0o750 });
  }
  if (machines !== null) await files.ensureFolder('patroni', { group: 'postgres', mode: 0o750 });
}

/** The engines that only three machines have. */
async function configureMachine(
  files: InstallationFiles,
  installation: InstallationFacts & { readonly machines: MachineFacts },
  of: { readonly machineSecrets: MachineSecrets; readonly patroniSettings: string },
): Promise<void> {
  const ofPostgres: Access = { group: 'postgres', mode: 0o640 };
  await files.configure('etcd/etcd.env', ofService('etcd'), renderEtcdEnv(installation));
  await files.configure('admin/etcdctl.env', { group: null, mode: 0o600 }, renderEtcdctlEnv(installation));
  await files.configure('patroni/cluster.yml', ofPostgres, of.patroniSettings);
  await files.configure('patroni/machine.yml', ofPostgres, renderPatroniYml(installation, of.machineSecrets));
  await files.configure('internal.env', everyone, renderInternalProxyEnv(installation));
}

async function configureEngines(
  files: InstallationFiles,
  installation: InstallationFacts,
  { secrets, machineSecrets }: Pick<WrittenInstallation, 'secrets' | 'machineSecrets'>,
): Promise<void> {
  await files.configure('nats/users.conf', ofService('nats'), renderNatsUsersFile(installation, secrets));
  await files.configure('nats/nats.conf', ofService('nats'), renderNatsConf(installation, machineSecrets));
  await files.configure(
    'valkey/users.acl',
    ofService('valkey'),
    renderValkeyUsersFile(installation, secrets),
  );
  await files.configure('valkey/valkey.conf', ofService('valkey'), renderValkeyConf(installation));
  await files.configure('restate/restate.toml', ofService('restate'), renderRestateToml(installation));
}

async function configureProcesses(
  files: InstallationFiles,
  installation: InstallationFacts,
  facts: Parameters<typeof renderProcessEnvs>[1],
): Promise<void> {
  const envs = renderProcessEnvs(installation, facts);
  for (const role of processRoleNames) await files.configure(`${role}.env`, everyone, envs[role]);
  await files.configure('proxy.env', everyone, renderProxyEnv(installation));
  await files.configure('admin.env', everyone, renderAdminEnv(installation));
  // All processes need this one, so it says that the installation is complete.
  await files.configure('millrace.env', everyone, renderCommonEnv(installation));
}
