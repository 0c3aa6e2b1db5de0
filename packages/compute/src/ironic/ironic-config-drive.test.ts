import { expect, it } from 'vitest';
import { newReadinessKey } from '../readiness/index.ts';
import { configDriveFor } from './ironic-config-drive.ts';
import { machineSpecFor } from './fake-ironic.fixture.ts';

it('configDriveFor puts the host key into vendor data and keeps the user data unchanged', () => {
  const { hostKey } = newReadinessKey();
  const userData = '#!/bin/sh\n';
  const document = configDriveFor(
    { ...machineSpecFor({ uuid: '01a1de06-c3e2-72fa-8019-b6d4f0caf395' }), userData, hostKey },
    {},
  );
  expect(document['user_data']).toBe(userData);
  const vendorData = document['vendor_data'] as { readonly 'cloud-init': string };
  const [first = '', ...rest] = vendorData['cloud-init'].split('\n');
  expect(first).toBe('#cloud-config');
  expect(JSON.parse(rest.join('\n'))).toEqual({
    ssh_keys: { ed25519_private: hostKey.privateKey, ed25519_public: hostKey.publicKey },
  });
});
