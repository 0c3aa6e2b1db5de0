import type { MachineHostKey, MachineSpec } from '../driver.ts';
import type { OperatorNotes } from './ironic-machine.ts';

/** Data for cloud-init at the first boot. Ironic writes it to a small disk, so the network cannot read it. Pure. */
export function configDriveFor(spec: MachineSpec, notes: OperatorNotes): Readonly<Record<string, unknown>> {
  const keys = spec.sshKeys.map((key, index) => [`millrace-${index}`, key] as const);
  return {
    meta_data: {
      uuid: spec.externalId,
      hostname: spec.hostname,
      name: spec.hostname,
      public_keys: Object.fromEntries(keys),
    },
    // If the network does not configure the machine, the operator specifies its addresses.
    ...((notes.network_data ?? null) !== null && { network_data: notes.network_data }),
    ...(spec.userData !== null && { user_data: spec.userData }),
    ...(spec.hostKey !== undefined && { vendor_data: { 'cloud-init': hostKeyConfig(spec.hostKey) } }),
  };
}

/** As vendor data, so that the user data stays unchanged. JSON is valid YAML. */
function hostKeyConfig({ privateKey, publicKey }: MachineHostKey): string {
  const config = { ssh_keys: { ed25519_private: privateKey, ed25519_public: publicKey } };
  return `#cloud-config\n${JSON.stringify(config)}\n`;
}
