import { readFile } from 'node:fs/promises';
import { DriverError } from '@millrace/compute';
import type { Clock } from '@millrace/platform/clock';
import type { CredentialSetting } from '@millrace/platform/config';
import { createAgentBackend } from './agent-backend.ts';
import type { VolumeBackend } from './backend.ts';
import { createMockBackend } from './mock-backend.ts';

export interface BackendConnectionOptions {
  readonly kind: 'nfs' | 'mock';
  readonly endpoint: string;
  readonly credentialRef: string | null;
  readonly settings: Readonly<Record<string, unknown>>;
}

export interface BackendDeps {
  readonly clock: Clock;
  readonly credentials: Readonly<Record<string, CredentialSetting>>;
}

/** A configuration error is thrown as `refused` and becomes the reason why the node is unreachable. */
export async function connectVolumeBackend(
  reach: BackendConnectionOptions,
  deps: BackendDeps,
): Promise<VolumeBackend> {
  switch (reach.kind) {
    case 'mock':
      return createMockBackend();
    case 'nfs': {
      if (!URL.canParse(reach.endpoint) || new URL(reach.endpoint).protocol !== 'https:') {
        throw new DriverError('refused', 'The endpoint of a storage node must begin with https://.');
      }
      const tls = await readCredential(reach.credentialRef, deps.credentials);
      return createAgentBackend({ endpoint: reach.endpoint, tls, clock: deps.clock });
    }
  }
}

async function readCredential(name: string | null, credentials: BackendDeps['credentials']) {
  const credential = name === null ? undefined : credentials[name];
  if (credential === undefined) {
    const why =
      name === null ? 'The storage node names no credential' : `This process has no credential ${name}`;
    throw new DriverError('refused', `${why}; connecting requires a client certificate.`);
  }
  if (!('certificateFile' in credential)) {
    throw new DriverError(
      'refused',
      `The credential ${name} is a password; a storage node requires a certificate.`,
    );
  }
  const { certificateFile, keyFile, serverCertificateFile } = credential;
  if (serverCertificateFile === null) {
    throw new DriverError('refused', 'The credential of the storage node has no serverCertificateFile.');
  }
  const [clientCertificate, clientKey, serverCertificate] = await Promise.all(
    [certificateFile, keyFile, serverCertificateFile].map(readSecret),
  );
  return {
    clientCertificate: clientCertificate ?? '',
    clientKey: clientKey ?? '',
    serverCertificate: serverCertificate ?? '',
  };
}

async function readSecret(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new DriverError('refused', `Cannot read the credential file ${path} of the storage node.`, {
      cause: error,
    });
  }
}
