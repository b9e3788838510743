"""The action-applier: the only writer of actions and of the team's records.

Its crash points, in the order in which one action meets them (those of `records.*` lie inside the target's transactions):

    applier.propose.before_commit     the operations are validated, nothing is stored
    applier.propose.after_commit      pending; the proposer has no answer yet
    applier.weigh.before_commit       a standing approval was made for its conversation or token; it is pending still
    applier.weigh.after_commit        confirmed by one, or left to people; the wake-up is not acknowledged
    applier.confirm.before_commit
    applier.confirm.after_commit      confirmed; nobody was woken yet
    applier.decide.after_commit       confirmed in part, or rejected; edited values were validated before, with no effect
    applier.reject.before_commit
    applier.reject.after_commit
    applier.withdraw.before_commit
    applier.withdraw.after_commit
    applier.apply.before_target       woken; nothing was written to the records
    records.apply.…                   the target's transactions, `claimed` to `after_commit` or `after_failure`
    applier.apply.before_copy         the ledger has the outcome, the action does not know it
    applier.apply.after_copy          applied, failed or conflicted; the wake-up is not acknowledged
    applier.tell.before_publish       the outcome is a fact, the proposing agent was not woken
    applier.tell.after_publish
    applier.undo.before_commit
    applier.undo.after_commit         the undo is requested; nobody was woken yet
    applier.undo_turn.before_commit
    applier.undo_turn.after_commit    undos of all its actions are requested
    applier.undo.before_target
    records.undo.…
    applier.undo.before_copy
    applier.undo.after_copy           undone, or the undo refused; others of the turn are still to be done
    applier.make_approval.before_commit
    applier.make_approval.after_commit  the standing approval is in force; its maker has no answer yet
    applier.sweep.after_claim         a row that had rested too long is taken up, and nothing was done yet
"""
