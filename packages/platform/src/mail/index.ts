export { domainOf, isPlainAddress, oneLine, parseMailbox } from './mail.ts';
export type { Letter, Mailbox, Mailer, Outcome } from './mail.ts';
export { createSmtpMailer, type SmtpOptions } from './smtp.ts';
