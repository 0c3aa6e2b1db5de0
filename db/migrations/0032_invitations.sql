-- Invitations: one that is open for each mailbox and organisation, and letters to mailboxes of people who have no account yet.

alter table invitations
  alter column role set not null,
  add column notice_id uuid,
  add column answered_at timestamptz,
  add constraint invitations_email_is_short check (length(email) <= 255 and position('@' in email) > 1),
  add constraint invitations_answer_is_dated check ((status = 'pending') = (answered_at is null));
create unique index invitations_one_pending_idx on invitations (org_id, email) where status = 'pending';
create index invitations_recent_idx on invitations (org_id, created_at);
comment on column invitations.status is 'pending also when it has expired: that is by the clock alone. The spelling "canceled" is the sign-in library''s.';
comment on column invitations.created_at is 'When it was first made; inviting the same mailbox again renews expires_at only.';
comment on column invitations.notice_id is 'The latest letter about it, to be called off with it. No foreign key: letters are forgotten in time.';
comment on column invitations.answered_at is 'When it was accepted, declined or taken back.';

-- A letter goes to a person or, where somebody is only being invited, to a mailbox.
alter table notice_mails
  drop constraint notice_mails_pkey,
  alter column user_id drop not null,
  add column email text check (email = lower(email) and length(email) <= 255),
  add column recipient text not null generated always as (coalesce(user_id::text, email)) stored,
  add constraint notice_mails_one_recipient check ((user_id is null) <> (email is null)),
  add constraint notice_mails_pkey primary key (notice_id, recipient);
create index notice_mails_mailbox_idx on notice_mails (email, created_at) where email is not null;
comment on column notice_mails.email is 'The mailbox of somebody who is no member; null: it goes to whatever mailbox the person has.';
comment on column notice_mails.recipient is 'The person, or else the mailbox: each gets a notice once.';
