import type { MachineHostKey, MachineSpec } from '../driver.ts';
import type { InstanceType } from './incus-settings.ts';

/**
 * The platform's keys and host name, as vendor data, so that the tenant's user data stays unchanged and takes precedence. JSON is
 * valid YAML, so no key can change the structure.
 */
export function vendorData(spec: MachineSpec, sshUser: string, instanceType: InstanceType): string {
  const config = {
    hostname: spec.hostname,
    preserve_hostname: false,
    disable_root: sshUser !== 'root',
    system_info: { default_user: { name: sshUser } },
    ssh_authorized_keys: spec.sshKeys,
    ...(spec.hostKey !== undefined && hostKeyConfig(spec.hostKey, instanceType)),
  };
  return `#cloud-config\n${JSON.stringify(config)}\n`;
}

/** A container gets its host key as a file, which cloud-init must keep. A VM can get it only from cloud-init. */
function hostKeyConfig(
  { privateKey, publicKey }: MachineHostKey,
  instanceType: InstanceType,
): Readonly<Record<string, unknown>> {
  if (instanceType === 'container') return { ssh_deletekeys: false, ssh_genkeytypes: [] };
  return { ssh_keys: { ed25519_private: privateKey, ed25519_public: publicKey } };
}

/** Other user data is handled only by cloud-init. */
export function isScript(userData: string | null): userData is string {
  return userData?.startsWith('#!') ?? false;
}
