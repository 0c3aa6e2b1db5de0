import type { MachineHostKey, MachineSpec } from '../driver.ts';
import type { OperatorNotes } from './ironic-machine.ts';

/**
 * What cloud-init on the node reads at its first boot, as Ironic takes it. Ironic makes a small disk of it, so nobody on the
 * network can ask for it. Pure.
 */
export function configDriveFor(wish: MachineSpec, notes: OperatorNotes): Readonly<Record<string, unknown>> {
  const keys = wish.sshKeys.map((key, index) => [`millrace-${index}`, key] as const);
  return {
    meta_data: {
      uuid: wish.externalId,
      hostname: wish.hostname,
      name: wish.hostname,
      public_keys: Object.fromEntries(keys),
    },
    // Where no network says it to the machine, the operator has said how it comes by its addresses.
    ...((notes.network_data ?? null) !== null && { network_data: notes.network_data }),
    ...(wish.userData !== null && { user_data: wish.userData }),
    ...(wish.hostKey !== undefined && { vendor_data: { 'cloud-init': hostKeyConfig(wish.hostKey) } }),
  };
}

/** As vendor data, so that user data stays as it was given. JSON is YAML. */
function hostKeyConfig({ privateKey, publicKey }: MachineHostKey): string {
  const config = { ssh_keys: { ed25519_private: privateKey, ed25519_public: publicKey } };
  return `#cloud-config\n${JSON.stringify(config)}\n`;
}
