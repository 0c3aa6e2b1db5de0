import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { parseCertificates } from '@millrace/platform/tls';
import { EXPIRES_SOON_MS, hasName, matchesKey } from '../certificate-facts.ts';
import type { Check, CheckContext, ServedCertificate } from './check.ts';
import { finding, type Finding } from './finding.ts';
import { publicAuthorities } from './network.ts';
import { tlsServers, type TlsServer } from './servers.ts';

const SOON_DAYS = 30;
const URGENT_DAYS = 7;
const URGENT_MS = URGENT_DAYS * 86_400_000;

/** The authority, and the certificate of each server in its file and on the network. */
export const certificatesCheck: Check = {
  id: 'certificates',
  title: 'Certificates',
  run: async (context) => {
    const { findings, pem } = checkAuthority(context);
    const servers = tlsServers(context.installation);
    const ofServers = await Promise.all(
      servers.map(async (server) => checkServer(context, await withLocalFiles(context, server), pem)),
    );
    return [...findings, ...ofServers.flat()];
  },
};

interface Authority {
  readonly findings: readonly Finding[];
  readonly pem: string | null;
}

function checkAuthority({ installation, effects }: CheckContext): Authority {
  const path = installation.environment('api')['MILLRACE_ENGINE_CA_FILE'];
  if (path === undefined || !existsSync(path)) return { findings: [], pem: null };
  const values = { path };
  try {
    const pem = readFileSync(path, 'utf8');
    const findings = parseCertificates(pem, path).flatMap((certificate): readonly Finding[] => {
      const leftMs = leftMsOf(certificate, effects.clock.nowMs());
      const until = `The authority in ${path} is valid until ${dateOf(certificate)}.`;
      if (leftMs < 0 || isEarly(certificate, effects.clock.nowMs()))
        return [finding('ca-expired', path, until, values)];
      return leftMs < EXPIRES_SOON_MS ? [finding('ca-expires-soon', path, until, values)] : [];
    });
    return { findings, pem };
  } catch {
    const problem = `${path} contains no PEM certificate that can be read.`;
    return { findings: [finding('ca-invalid', path, problem, values)], pem: null };
  }
}

/** Another machine has files of its own. The public address leads to the proxy with this file, also through NAT. */
async function withLocalFiles({ effects }: CheckContext, server: TlsServer): Promise<TlsServer> {
  if (server.isPublic || (await effects.isThisMachine(server.host)) === true) return server;
  return { ...server, certificateFile: null, keyFile: null };
}

interface ServerFiles {
  readonly certificate: X509Certificate;
  readonly keyMatches: boolean;
}

async function checkServer(
  context: CheckContext,
  server: TlsServer,
  ca: string | null,
): Promise<readonly Finding[]> {
  const { host, port, start, isPublic } = server;
  const authorities = isPublic ? publicAuthorities(ca) : ca === null ? null : [ca];
  // The check of the server itself reports that it does not answer.
  const served = await context.effects
    .servedCertificate({ host, port, start, ca: authorities })
    .catch(() => null);
  const values = valuesOf(server, context);
  const inFiles = readFiles(server);
  if (inFiles === 'invalid') {
    const problem = `${server.certificateFile} contains no PEM certificate that can be read.`;
    return [finding('certificate-invalid', server.name, problem, values)];
  }
  const shown = served === null ? null : new X509Certificate(served.pem);
  const certificate = inFiles?.certificate ?? shown;
  if (certificate === null) return [];
  const isLoaded =
    inFiles === null || shown === null || shown.fingerprint256 === inFiles.certificate.fingerprint256;
  return [
    ...(inFiles?.keyMatches === false
      ? [
          finding(
            'certificate-key-mismatch',
            server.name,
            `The key in ${values.key} does not belong to the certificate in ${values.path}.`,
            values,
          ),
        ]
      : []),
    ...(isLoaded
      ? []
      : [
          finding(
            'certificate-not-loaded',
            server.name,
            `${server.title} shows another certificate than the one in ${values.path}.`,
            values,
          ),
        ]),
    ...checkCertificate(context, server, certificate),
    ...(isLoaded ? checkIssuer(server, served, values) : []),
  ];
}

type Values = Readonly<Record<'server' | 'path' | 'key' | 'reload' | 'name' | 'ca', string>>;

function valuesOf(server: TlsServer, { installation }: CheckContext): Values {
  return {
    server: server.title,
    path: server.certificateFile ?? 'its file',
    key: server.keyFile ?? 'its file',
    reload: server.reload,
    name: server.certificateName,
    ca: installation.environment('api')['MILLRACE_ENGINE_CA_FILE'] ?? 'the file of MILLRACE_ENGINE_CA_FILE',
  };
}

function checkCertificate(
  context: CheckContext,
  server: TlsServer,
  certificate: X509Certificate,
): readonly Finding[] {
  const nowMs = context.effects.clock.nowMs();
  const values = valuesOf(server, context);
  const name = server.certificateName;
  const leftMs = leftMsOf(certificate, nowMs);
  const until = `The certificate of ${server.title} is valid until ${dateOf(certificate)}`;
  const isInvalid = leftMs < 0 || isEarly(certificate, nowMs);
  return [
    ...(isInvalid
      ? [finding('certificate-expired', server.name, `${until}: it is not valid now.`, values)]
      : []),
    ...(!isInvalid && leftMs < EXPIRES_SOON_MS
      ? [
          finding(
            'certificate-expires-soon',
            server.name,
            `${until}: less than ${leftMs < URGENT_MS ? URGENT_DAYS : SOON_DAYS} days.`,
            values,
          ),
        ]
      : []),
    ...(hasName(certificate, name)
      ? []
      : [
          finding(
            'certificate-name',
            server.name,
            `The certificate of ${server.title} does not contain ${name}.`,
            values,
          ),
        ]),
  ];
}

/** Codes of certificates that are refused for another reason than their issuer. */
const ofValidity = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID', 'ERR_TLS_CERT_ALTNAME_INVALID']);

function checkIssuer(
  server: TlsServer,
  served: ServedCertificate | null,
  values: Values,
): readonly Finding[] {
  const rejection = served?.rejection ?? null;
  if (rejection === null || ofValidity.has(rejection)) return [];
  const problem = `The certificate of ${server.title} is not accepted (${rejection}).`;
  return [finding('certificate-issuer', server.name, problem, values, ['ca-*'])];
}

/** Null if the server has no file on this machine. */
function readFiles({ certificateFile, keyFile }: TlsServer): ServerFiles | 'invalid' | null {
  if (certificateFile === null || !existsSync(certificateFile)) return null;
  try {
    const [certificate] = parseCertificates(readFileSync(certificateFile, 'utf8'), certificateFile);
    if (certificate === undefined) return 'invalid';
    const hasKey = keyFile !== null && existsSync(keyFile);
    return { certificate, keyMatches: !hasKey || matchesKey(certificate, readFileSync(keyFile, 'utf8')) };
  } catch {
    return 'invalid';
  }
}

function leftMsOf(certificate: X509Certificate, nowMs: number): number {
  return certificate.validToDate.getTime() - nowMs;
}

const isEarly = (certificate: X509Certificate, nowMs: number): boolean =>
  certificate.validFromDate.getTime() > nowMs;

const dateOf = (certificate: X509Certificate): string => certificate.validToDate.toISOString().slice(0, 10);
