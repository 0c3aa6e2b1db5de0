import { buildConsole } from '@millrace/console-tools';
import { startSmtpServer, type TestSmtp } from '@millrace/testing';
import { openMockStack, type MockStack } from '../stack/mock-stack.ts';
import type { AccountDeps } from './accounts.ts';

/** The mock stack with the console, and a real SMTP server that keeps the letters. */
export interface ConsoleStack extends MockStack, AccountDeps {
  readonly smtp: TestSmtp;
}

export async function openConsoleStack(options: { readonly gateway?: boolean } = {}): Promise<ConsoleStack> {
  buildConsole();
  const smtp = await startSmtpServer();
  // The tests plant invoices, statements and machines for which no money was moved.
  const stack = await openMockStack({ ...options, env: accountsEnv(smtp), auditMode: 'planted' });
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

/** With this, people sign up and get mail. */
export function accountsEnv(smtp: TestSmtp): Readonly<Record<string, string>> {
  return {
    // All people of these tests come from one address.
    MILLRACE_SIGN_IN_ADDRESS_TRIES: '1000000',
    MILLRACE_AUTH_SECRET: 'what signs the cookies of these tests and of nothing else',
    MILLRACE_SMTP_URL: smtp.url,
    MILLRACE_MAIL_FROM: 'Millrace <notices@example.com>',
    // Tests share one Valkey and come from one machine: each says where it comes from, so that none uses up what others may try.
    MILLRACE_HTTP_TRUSTED_PROXIES: '127.0.0.1',
    MILLRACE_RATE_LIMIT_ANONYMOUS_RPM: '1000000',
    MILLRACE_RATE_LIMIT_FAILED_AUTH_RPM: '1000000',
    MILLRACE_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  };
}
