import { z } from 'zod';
import { hostOf, isLoopback } from '../net/loopback.ts';
import { checkEngineTls, engineTls } from './engine-tls.ts';
import { fragment } from './fragment.ts';
import type { ConfigProblem, ValuesOf } from './fragment.ts';
import { values } from './values.ts';

const certificate = {
  env: 'MILLRACE_RESTATE_ENDPOINT_TLS_CERT_FILE',
  expected: 'the path of the PEM certificate chain of the handlers, which Restate verifies',
  example: '/etc/millrace/restate-endpoint.crt',
} as const;

const key = {
  env: 'MILLRACE_RESTATE_ENDPOINT_TLS_KEY_FILE',
  expected: 'the path of the PEM private key of the certificate',
  example: '/etc/millrace/restate-endpoint.key',
} as const;

const file = { schema: values.text.nullable().default(null) } as const;
const text = { schema: values.fileText.nullable().default(null) } as const;

const addresses = {
  ingressUrl: {
    env: 'MILLRACE_RESTATE_INGRESS_URL',
    schema: values.url('http', 'https'),
    expected: 'the URL of the Restate ingress',
    example: 'http://127.0.0.1:8080',
  },
  adminUrl: {
    env: 'MILLRACE_RESTATE_ADMIN_URL',
    schema: values.url('http', 'https'),
    expected: 'the URL of the Restate admin API',
    example: 'http://127.0.0.1:9070',
  },
  clientCertFile: {
    env: 'MILLRACE_RESTATE_CLIENT_CERT_FILE',
    ...file,
    expected: 'the path of the PEM client certificate for the proxy in front of Restate',
    example: '/etc/millrace/restate-client.crt',
  },
  clientKeyFile: {
    env: 'MILLRACE_RESTATE_CLIENT_KEY_FILE',
    ...file,
    expected: 'the path of the PEM private key of the client certificate',
    example: '/etc/millrace/restate-client.key',
  },
  prefix: {
    env: 'MILLRACE_RESTATE_PREFIX',
    schema: z
      .string()
      .regex(/^[a-z][a-z0-9]{0,31}$/)
      .or(z.literal(''))
      .default(''),
    expected:
      'a lowercase letter and up to 31 lowercase letters or digits that separate installations on one Restate; empty by default',
    example: 'staging',
  },
} as const;

const endpoint = {
  identityKeys: {
    env: 'MILLRACE_RESTATE_IDENTITY_KEYS',
    schema: values.listOf(z.string().startsWith('publickeyv1_', 'each key starts with publickeyv1_')),
    expected: 'a comma-separated list of the public keys with which Restate signs its requests',
    example: 'publickeyv1_w7YHemBctH5Ck2nQRQ47iBBqhNHy4FV7t2Usbye2A6f',
  },
  endpointHost: {
    env: 'MILLRACE_RESTATE_ENDPOINT_HOST',
    schema: values.host.default('127.0.0.1'),
    expected: 'the address on which Restate calls the handlers; they accept only calls that Restate signed',
    example: '10.7.0.5',
  },
  endpointPort: {
    env: 'MILLRACE_RESTATE_ENDPOINT_PORT',
    schema: values.port.default(9080),
    expected: 'the port on which Restate calls the handlers, 0 to 65535',
    example: '9080',
  },
  endpointUrl: {
    env: 'MILLRACE_RESTATE_ENDPOINT_URL',
    schema: values.url('http', 'https').nullable().default(null),
    expected: 'the address at which Restate reaches the workers, if it is not the loopback port',
    example: 'https://workers.internal:9080',
  },
  tlsCert: { ...certificate, ...text },
  tlsKey: { ...key, ...text },
  tlsCertFile: { ...certificate, ...file },
  tlsKeyFile: { ...key, ...file },
} as const;

const variables = { ...engineTls, ...addresses, ...endpoint } as const;

type RestateValues = ValuesOf<typeof variables>;

function checkRestate(restate: RestateValues): readonly ConfigProblem[] {
  return [...checkAddresses(restate), ...checkEndpoint(restate)];
}

function checkAddresses(restate: RestateValues): readonly ConfigProblem[] {
  const { clientCertFile, clientKeyFile, allowPlaintext } = restate;
  const hasCertificate = clientCertFile !== null || clientKeyFile !== null;
  const problems = [variables.ingressUrl, variables.adminUrl].flatMap(({ env }, index) => {
    const url = new URL(index === 0 ? restate.ingressUrl : restate.adminUrl);
    const example = 'https://restate.example.com:8443';
    const encrypted = url.protocol === 'https:';
    if (hasCertificate && !encrypted) {
      return [{ env, problem: 'must begin with https://, because a client certificate is set', example }];
    }
    const address = { host: hostOf(url), encrypted };
    return checkEngineTls({ env, example }, [address], allowPlaintext);
  });
  return [
    ...problems,
    ...checkPair(variables.clientCertFile, clientCertFile, variables.clientKeyFile, clientKeyFile),
  ];
}

function checkEndpoint(restate: RestateValues): readonly ConfigProblem[] {
  const { endpointHost, endpointUrl, tlsCert, tlsKey, allowPlaintext } = restate;
  const problems = [...checkPair(certificate, tlsCert, key, tlsKey)];
  const { env, example } = variables.endpointUrl;
  // Restate cannot call an address that only means "all addresses of this machine".
  if (['0.0.0.0', '::'].includes(endpointHost) && endpointUrl === null) {
    problems.push({ env, problem: 'is not set; Restate needs the address of the workers', example });
  }
  const url = endpointUrl === null ? null : new URL(endpointUrl);
  const hasHttps = url?.protocol === 'https:';
  if (tlsCert !== null && url !== null && !hasHttps) {
    problems.push({ env, problem: `must begin with https://, because ${certificate.env} is set`, example });
  } else if (url !== null) {
    const address = { host: hostOf(url), encrypted: hasHttps };
    problems.push(...checkEngineTls({ env, example }, [address], allowPlaintext));
  }
  if (tlsCert === null && !isLoopback(endpointHost) && !allowPlaintext) {
    const problem = `is beyond loopback without TLS; set ${certificate.env} and ${key.env}, or ${engineTls.allowPlaintext.env}=true if no other machine can read that network`;
    problems.push({ env: variables.endpointHost.env, problem, example: '127.0.0.1' });
  }
  return problems;
}

interface FileVariable {
  readonly env: string;
  readonly example: string;
}

function checkPair(
  certificateFile: FileVariable,
  certificateValue: string | null,
  keyFile: FileVariable,
  keyValue: string | null,
): ConfigProblem[] {
  if ((certificateValue === null) === (keyValue === null)) return [];
  const { env, example } = certificateValue === null ? certificateFile : keyFile;
  return [{ env, problem: 'is not set; set both the certificate and the key', example }];
}

export const restateConfig = fragment('restate', variables, checkRestate);
