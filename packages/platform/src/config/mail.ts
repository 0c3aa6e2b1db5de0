import { z } from 'zod';
import { parseEmailAddress } from '../mail/mail.ts';
import { fragment, type ConfigProblem } from './fragment.ts';
import { values } from './values.ts';

const mailVariables = {
  smtpUrl: {
    env: 'MILLRACE_SMTP_URL',
    schema: values.url('smtp', 'smtps').nullable().default(null),
    expected: 'the URL of the SMTP server; without it no emails are sent',
    example: 'smtps://user:password@smtp.example.com:465',
    secret: true,
  },
  ca: {
    env: 'MILLRACE_SMTP_CA_FILE',
    schema: values.certificatesText.nullable().default(null),
    expected:
      'the path of a PEM file with CA certificates that the SMTP server may use in addition to public ones',
    example: '/etc/millrace/mail-ca.pem',
  },
  from: {
    env: 'MILLRACE_MAIL_FROM',
    schema: z
      .string()
      .transform((text, issue) => {
        const address = parseEmailAddress(text);
        if (address !== null) return address;
        issue.addIssue({ code: 'custom', message: 'it is not an email address' });
        return z.NEVER;
      })
      .nullable()
      .default(null),
    expected: 'the sender name and address of emails',
    example: 'Example Cloud <notices@example.com>',
  },
} as const;

function checkMail(mail: {
  readonly smtpUrl: string | null;
  readonly from: object | null;
}): readonly ConfigProblem[] {
  if ((mail.smtpUrl === null) === (mail.from === null)) return [];
  const { env, example } = mail.smtpUrl === null ? mailVariables.smtpUrl : mailVariables.from;
  return [{ env, problem: 'is not set; set both the server and the sender', example }];
}

export const mailConfig = fragment('mail', mailVariables, checkMail);
