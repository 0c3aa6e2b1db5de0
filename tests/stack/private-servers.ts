import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { SecureEndpoints } from '@millrace/services';
import { makeCertificate, startValkeyServer, type TestCertificate, type TestValkey } from '@millrace/testing';

/** Makes this process trust the certificates until the returned function is called. */
export function trustCertificates(certificates: readonly Pick<TestCertificate, 'certificate'>[]): () => void {
  const added = certificates.map(({ certificate }) => certificate.trim());
  setDefaultCACertificates([...getCACertificates('default'), ...added]);
  return () => {
    const left = getCACertificates('default').filter((each) => !added.includes(each.trim()));
    setDefaultCACertificates(left);
  };
}

/** Starts servers of one stack that require TLS, as the shared engines do. */
export interface PrivateServers {
  /** Their certificate in files. This process trusts it until `remove`. */
  readonly certificateFile: string;
  readonly keyFile: string;
  /** Accepted authorities of the shared engines and of these servers. */
  readonly caFile: string;
  startValkey(): Promise<TestValkey>;
  remove(): void;
}

export async function preparePrivateServers(
  { caFile, valkeyUsersFile }: SecureEndpoints,
  valkeyUrl: string,
): Promise<PrivateServers> {
  const folder = mkdtempSync(path.join(tmpdir(), 'mr-servers-'));
  const made = await makeCertificate('servers of a test');
  const ca = readFileSync(caFile, 'utf8') + made.certificate;
  const write = (name: string, text: string): string => {
    const file = path.join(folder, name);
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  };
  const distrust = trustCertificates([made]);
  const { username, password } = new URL(valkeyUrl);
  return {
    certificateFile: write('server.pem', made.certificate),
    keyFile: write('server.key', made.key),
    caFile: write('ca.pem', ca),
    startValkey: () =>
      startValkeyServer({
        tls: made,
        ca,
        users: readFileSync(valkeyUsersFile, 'utf8'),
        login: `${username}:${password}`,
      }),
    remove: () => {
      distrust();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
