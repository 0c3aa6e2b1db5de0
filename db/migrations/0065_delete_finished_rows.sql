-- Rows that only serve as history of finished work are deleted by age. Workers may not delete from these tables, so one function of the
-- owner does, and only what is finished.

create function delete_finished_rows(what text, keep_days integer, at_most integer) returns integer
  language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  before timestamptz := clock_timestamp() - keep_days * interval '1 day';
  deleted integer;
begin
  if keep_days < 30 or at_most not between 1 and 10000 then
    raise exception 'finished rows are kept for at least 30 days, and at most 10000 are deleted at once'
      using errcode = 'invalid_parameter_value';
  end if;
  case what
    when 'required_actions' then
      delete from required_actions where ctid = any (array(
        select ctid from required_actions where done_at < before order by done_at limit at_most for update skip locked));
    when 'allocated_gpus' then
      delete from allocated_gpus where ctid = any (array(
        select ctid from allocated_gpus where released_at < before order by released_at limit at_most for update skip locked));
    when 'allocated_ports' then
      delete from allocated_ports where ctid = any (array(
        select ctid from allocated_ports where released_at < before order by released_at limit at_most for update skip locked));
    when 'rental_steps' then
      delete from rental_steps where ctid = any (array(
        select step.ctid from rental_steps as step join rentals as rental on rental.id = step.rental_id
         where step.started_at < before and rental.status = 'Terminated' limit at_most for update of step skip locked));
    else
      raise exception 'no rule for %', what using errcode = 'invalid_parameter_value';
  end case;
  get diagnostics deleted = row_count;
  return deleted;
end $$;
comment on function delete_finished_rows(text, integer, integer) is 'Deletes rows of finished work by age, a batch at a time. The list with the periods is packages/core/src/retention.';
-- The function is new.
-- squawk-ignore revoke-right
revoke all on function delete_finished_rows(text, integer, integer) from public;
grant execute on function delete_finished_rows(text, integer, integer) to millrace_app, millrace_worker;
