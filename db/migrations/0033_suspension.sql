-- An organisation that is suspended with its work: what it rents is ended by the same list that an empty wallet writes to.

alter table required_actions
  drop constraint required_actions_reason_check,
  add constraint required_actions_reason_check check (reason in ('balance', 'budget', 'suspension'));
comment on table required_actions is 'What the owner of a thing must do to it because its money has ended, or because its organisation was suspended. Metering keeps the list; rentals, volumes and instances carry it out.';
comment on column required_actions.reason is 'balance: the wallet is empty. budget: a budget that stops everything refused to prolong it. suspension: the operator suspended the organisation and what it runs.';
comment on column required_actions.state is 'cancelled: money came in before anyone had begun, the suspension was lifted, or an end that is to be at once took its place.';
