import { isHostAddress } from '@millrace/storage/wire';
import {
  fragment,
  healthConfig,
  loadConfig,
  logConfig,
  values,
  type Environment,
} from '@millrace/platform/config';
import { z } from 'zod';

const range = z.string().transform((text, issue): AddressRange => {
  const [first = '', last = first, ...rest] = text.split('-').map((part) => part.trim());
  const isRange = rest.length === 0 && isHostAddress(first) && isHostAddress(last);
  if (isRange && numberOf(first) <= numberOf(last)) return { first, last };
  issue.addIssue({ code: 'custom', message: 'it is not a range FIRST-LAST of IPv4 addresses' });
  return z.NEVER;
});

export interface AddressRange {
  readonly first: string;
  readonly last: string;
}

function numberOf(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

export function isWithin({ first, last }: AddressRange, address: string): boolean {
  const number = numberOf(address);
  return number >= numberOf(first) && number <= numberOf(last);
}

const storageConfig = fragment('storage', {
  pool: {
    env: 'MILLRACE_STORAGE_POOL',
    schema: values.text,
    expected: 'the folder for volumes, on XFS created with reflink=1',
    example: '/srv/millrace',
  },
  vips: {
    env: 'MILLRACE_STORAGE_VIPS',
    schema: range,
    expected: 'the range of host addresses on which volumes are served, FIRST-LAST',
    example: '10.8.0.10-10.8.0.250',
  },
  host: {
    env: 'MILLRACE_STORAGE_HOST',
    schema: values.host.default('127.0.0.1'),
    expected: 'the address on which the agent listens for workers',
    example: '10.7.0.5',
  },
  port: {
    env: 'MILLRACE_STORAGE_PORT',
    schema: values.port.default(8650),
    expected: 'the port on which the agent listens for workers, 0 to 65535',
    example: '8650',
  },
  tlsCert: {
    env: 'MILLRACE_STORAGE_TLS_CERT_FILE',
    schema: values.fileText,
    expected: 'the path of the PEM certificate of the agent',
    example: '/etc/millrace/storage.crt',
  },
  tlsCertFile: {
    env: 'MILLRACE_STORAGE_TLS_CERT_FILE',
    schema: values.text,
    expected: 'the path of the PEM certificate of the agent',
    example: '/etc/millrace/storage.crt',
  },
  tlsKey: {
    env: 'MILLRACE_STORAGE_TLS_KEY_FILE',
    schema: values.fileText,
    expected: 'the path of the PEM private key of the certificate',
    example: '/etc/millrace/storage.key',
  },
  tlsKeyFile: {
    env: 'MILLRACE_STORAGE_TLS_KEY_FILE',
    schema: values.text,
    expected: 'the path of the PEM private key of the certificate',
    example: '/etc/millrace/storage.key',
  },
  clientCerts: {
    env: 'MILLRACE_STORAGE_CLIENT_CERTS_FILE',
    schema: values.fileText,
    expected: 'the path of a PEM file with the client certificates that are accepted',
    example: '/etc/millrace/storage-clients.crt',
  },
  clientCertsFile: {
    env: 'MILLRACE_STORAGE_CLIENT_CERTS_FILE',
    schema: values.text,
    expected: 'the path of a PEM file with the client certificates that are accepted',
    example: '/etc/millrace/storage-clients.crt',
  },
  nfsPort: {
    env: 'MILLRACE_STORAGE_NFS_PORT',
    schema: values.wholeNumber(1, 65_535).default(2_049),
    expected: 'the port on which volumes are served, 1 to 65535',
    example: '2049',
  },
  leaseSeconds: {
    env: 'MILLRACE_STORAGE_LEASE_SECONDS',
    schema: values.wholeNumber(2, 300).default(30),
    expected:
      'how long an unreachable client keeps its locks and a restarted server waits for reclaims, 2 to 300 s',
    example: '30',
  },
  healthPort: {
    env: 'MILLRACE_STORAGE_HEALTH_PORT',
    schema: values.port.default(8_085),
    expected: 'the port of health and readiness, 0 to 65535',
    example: '8085',
  },
});

/** All settings of the agent. It uses no database and no NATS, Valkey or Restate. */
export function loadStorageConfig(env?: Environment) {
  return loadConfig([storageConfig, healthConfig, logConfig], env);
}

export type StorageConfig = ReturnType<typeof loadStorageConfig>;
