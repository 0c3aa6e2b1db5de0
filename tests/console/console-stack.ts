import { buildConsole } from '@millrace/console-tools';
import { startSmtpServer, type TestSmtp } from '@millrace/testing';
import { mockProviders, openMockStack, type MockStack } from '../stack/mock-stack.ts';
import type { AccountDeps } from './accounts.ts';

/** Mock stack with console and a real SMTP server that stores the emails. */
export interface ConsoleStack extends MockStack, AccountDeps {
  readonly smtp: TestSmtp;
}

export interface ConsoleStackOptions {
  readonly gateway?: boolean;
  /** Region with bare metal for test keys; default: none. */
  readonly metalRegion?: string;
  /** Further settings of all processes. */
  readonly env?: Readonly<Record<string, string>>;
}

export async function openConsoleStack(options: ConsoleStackOptions = {}): Promise<ConsoleStack> {
  const { metalRegion, env, ...rest } = options;
  buildConsole();
  const smtp = await startSmtpServer();
  // The tests insert invoices, statements and machines without ledger entries.
  const stack = await openMockStack({
    ...rest,
    env: {
      ...accountsEnv(smtp),
      ...(metalRegion !== undefined && { MILLRACE_PROVIDERS: JSON.stringify(mockProviders(metalRegion)) }),
      ...env,
    },
    auditMode: 'planted',
  });
  return {
    ...stack,
    db: stack.database.db,
    smtp,
    [Symbol.asyncDispose]: async () => {
      await stack[Symbol.asyncDispose]();
      await smtp.close();
    },
  };
}

/** Settings that enable sign-up and email. */
export function accountsEnv(smtp: TestSmtp): Readonly<Record<string, string>> {
  return {
    // All test users share one address.
    MILLRACE_SIGN_IN_ADDRESS_TRIES: '1000000',
    MILLRACE_AUTH_SECRET: 'cookie secret for these tests only',
    MILLRACE_SMTP_URL: smtp.url,
    MILLRACE_MAIL_FROM: 'Millrace <notices@example.com>',
    // Tests share one Valkey, so each sends its own client address to avoid shared limits.
    MILLRACE_HTTP_TRUSTED_PROXIES: '127.0.0.1',
    MILLRACE_RATE_LIMIT_ANONYMOUS_RPM: '1000000',
    MILLRACE_RATE_LIMIT_FAILED_AUTH_RPM: '1000000',
    MILLRACE_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  };
}
