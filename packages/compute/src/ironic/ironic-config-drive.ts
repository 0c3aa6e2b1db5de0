import type { MachineHostKey, MachineSpec } from '../driver.ts';
import type { OperatorNotes } from './ironic-machine.ts';

/**
 * What cloud-init on the node reads at its first boot, as Ironic takes it. Ironic makes a small disk of it, so nobody on the
 * network can ask for it. Pure.
 */
export function configDriveFor(spec: MachineSpec, notes: OperatorNotes): Readonly<Record<string, unknown>> {
  const keys = spec.sshKeys.map((key, index) => [`millrace-${index}`, key] as const);
  return {
    meta_data: {
      uuid: spec.externalId,
      hostname: spec.hostname,
      name: spec.hostname,
      public_keys: Object.fromEntries(keys),
    },
    // Where no network says it to the machine, the operator has said how it comes by its addresses.
    ...((notes.network_data ?? null) !== null && { network_data: notes.network_data }),
    ...(spec.userData !== null && { user_data: spec.userData }),
    ...(spec.hostKey !== undefined && { vendor_data: { 'cloud-init': hostKeyConfig(spec.hostKey) } }),
  };
}

/** As vendor data, so that user data stays as it was given. JSON is YAML. */
function hostKeyConfig({ privateKey, publicKey }: MachineHostKey): string {
  const config = { ssh_keys: { ed25519_private: privateKey, ed25519_public: publicKey } };
  return `#cloud-config\n${JSON.stringify(config)}\n`;
}
