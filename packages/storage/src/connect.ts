import { readFile } from 'node:fs/promises';
import { DriverError } from '@millrace/compute';
import type { Clock } from '@millrace/platform/clock';
import type { CredentialSetting } from '@millrace/platform/config';
import type { Logger } from '@millrace/platform/log';
import {
  CertificateError,
  checkPinnedTls,
  openCredentialFiles,
  type CredentialSource,
  type PinnedTls,
} from '@millrace/platform/tls';
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
  readonly log: Logger;
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
      const tls = await openCredential(reach.credentialRef, deps);
      return createAgentBackend({ endpoint: reach.endpoint, tls, clock: deps.clock });
    }
  }
}

async function openCredential(
  name: string | null,
  { clock, log, credentials }: BackendDeps,
): Promise<CredentialSource<PinnedTls>> {
  const credential = name === null ? undefined : credentials[name];
  if (name === null || credential === undefined) {
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
  const read = async (): Promise<PinnedTls> => {
    const clientCertificate = await readSecret(certificateFile);
    const clientKey = await readSecret(keyFile);
    const serverCertificate = await readSecret(serverCertificateFile);
    return checked({ clientCertificate, clientKey, serverCertificate }, name);
  };
  return openCredentialFiles({ name, read, clock, log });
}

function checked(tls: PinnedTls, name: string): PinnedTls {
  try {
    return checkPinnedTls(tls, `the credential ${name}`);
  } catch (error) {
    if (error instanceof CertificateError) throw new DriverError('refused', error.message, { cause: error });
    throw error;
  }
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
