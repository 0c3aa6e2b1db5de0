import type { MachineWish } from '../driver.ts';

/**
 * What the platform itself asks of cloud-init: the keys and the name. It goes into the vendor data, so that the tenant's
 * user data stays as it was given and has the last word. JSON is YAML, so nothing a key contains can change its meaning.
 */
export function vendorData(wish: MachineWish, sshUser: string): string {
  const config = {
    hostname: wish.hostname,
    preserve_hostname: false,
    disable_root: sshUser !== 'root',
    system_info: { default_user: { name: sshUser } },
    ssh_authorized_keys: wish.sshKeys,
  };
  return `#cloud-config\n${JSON.stringify(config)}\n`;
}

/** User data that is a program; whatever else it may be is for cloud-init alone. */
export function isScript(userData: string | null): userData is string {
  return userData?.startsWith('#!') ?? false;
}
