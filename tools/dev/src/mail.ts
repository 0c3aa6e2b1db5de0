import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { startSmtpServer, type ReceivedEmail, type TestSmtp } from '@millrace/testing/smtp-server';

/** Takes the mail of the demo, which is not sent: each letter becomes a file, and its links are printed. */
export async function collectEmails(options: {
  readonly folder: string;
  readonly print: (text: string) => void;
}): Promise<TestSmtp> {
  const { folder, print } = options;
  // Links that sign people in lie there.
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

/** What came for whom, and where it leads. Letters come as text and as HTML; the links of both are the same. */
export function emailSummary({ to, headers, body }: ReceivedEmail): string {
  const links = new Set(body.match(/https?:\/\/[^\s"'<>]+/g)?.map((link) => link.replaceAll('&amp;', '&')));
  const lines = [`to ${to.join(', ')}: ${headers['subject'] ?? ''}`, ...links];
  return lines.map((line) => `mail    | ${line}\n`).join('');
}
