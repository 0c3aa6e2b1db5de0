import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { startSmtpServer, type ReceivedEmail, type TestSmtp } from '@millrace/testing/smtp-server';

/** Receives the emails of the demo instead of sending them: stores each as a file and prints its links. */
export async function collectEmails(options: {
  readonly folder: string;
  readonly print: (text: string) => void;
}): Promise<TestSmtp> {
  const { folder, print } = options;
  // The emails contain sign-in links, so only the owner may read the folder.
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const smtp = await startSmtpServer();
  smtp.onEmail = (email) => {
    const file = path.join(folder, emailFileName(email, new Date()));
    writeFileSync(file, email.raw, { mode: 0o600 });
    print(emailSummary(email));
  };
  return smtp;
}

export function emailFileName({ to, headers }: ReceivedEmail, at: Date): string {
  const words = `${to.join(' ')} ${headers['subject'] ?? ''}`.replaceAll(/[^\w@.]+/g, '-').slice(0, 80);
  return `${at.toISOString().replaceAll(':', '')}-${words}.eml`;
}

/** Emails have a text and an HTML part with the same links. */
export function emailSummary({ to, headers, body }: ReceivedEmail): string {
  const links = new Set(body.match(/https?:\/\/[^\s"'<>]+/g)?.map((link) => link.replaceAll('&amp;', '&')));
  const lines = [`to ${to.join(', ')}: ${headers['subject'] ?? ''}`, ...links];
  return lines.map((line) => `mail    | ${line}\n`).join('');
}
