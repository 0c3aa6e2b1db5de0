import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { startSmtpServer, type ReceivedEmail, type TestSmtp } from '@millrace/testing/smtp-server';

/**
 * Receives the emails of the demo instead of sending them: stores each as a file, and prints those with links. Emails without a link,
 * such as notices about the loaded history, are not printed, because nothing may follow the banner unless the user caused it.
 */
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
    const summary = emailSummary(email);
    if (summary !== null) print(summary);
  };
  return smtp;
}

export function emailFileName({ to, headers }: ReceivedEmail, at: Date): string {
  const words = `${to.join(' ')} ${headers['subject'] ?? ''}`.replaceAll(/[^\w@.]+/g, '-').slice(0, 80);
  return `${at.toISOString().replaceAll(':', '')}-${words}.eml`;
}

/** The recipient and the links, or null without links. Emails have a text and an HTML part with the same links. */
export function emailSummary({ to, headers, body }: ReceivedEmail): string | null {
  const links = new Set(body.match(/https?:\/\/[^\s"'<>]+/g)?.map((link) => link.replaceAll('&amp;', '&')));
  if (links.size === 0) return null;
  const lines = [`to ${to.join(', ')}: ${headers['subject'] ?? ''}`, ...links];
  return lines.map((line) => `mail    | ${line}\n`).join('');
}
