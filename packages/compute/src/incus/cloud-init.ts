import type { MachineHostKey, MachineSpec } from '../driver.ts';
import type { InstanceType } from './incus-settings.ts';

/**
 * What the platform itself asks of cloud-init: the keys and the name. It goes into the vendor data, so that the tenant's
 * user data stays as it was given and has the last word. JSON is YAML, so nothing a key contains can change its meaning.
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

/**
 * The host key of a container is a file that was written before its first boot, so cloud-init is only told to leave it alone.
 * A VM can be given its key by cloud-init alone.
 */
function hostKeyConfig(
  { privateKey, publicKey }: MachineHostKey,
  instanceType: InstanceType,
): Readonly<Record<string, unknown>> {
  if (instanceType === 'container') return { ssh_deletekeys: false, ssh_genkeytypes: [] };
  return { ssh_keys: { ed25519_private: privateKey, ed25519_public: publicKey } };
}

/** User data that is a program; whatever else it may be is for cloud-init alone. */
export function isScript(userData: string | null): userData is string {
  return userData?.startsWith('#!') ?? false;
}
