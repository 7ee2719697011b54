# Runs test files of testthat with a package of R, and prints a line of JSON for each test: its name, its outcome and its
# message. Usage: Rscript run_tests.R <package> <folder of helpers, or -> <file> ...
suppressMessages({
  library(testthat)
  arguments <- commandArgs(trailingOnly = TRUE)
  library(arguments[1], character.only = TRUE)
})

# The environment in which the tests run: the names of the package, then what its helpers define.
tests <- new.env(parent = globalenv())
if (arguments[2] != "-") {
  for (helper in list.files(arguments[2], "^helper.*\\.R$", full.names = TRUE)) sys.source(helper, tests)
  # The helpers of quartzbio.edp replay recorded answers, or record them. Here nothing stands between the package and the server.
  assign("start_mock_api", function(...) list(capture = TRUE), tests)
  assign("stop_mock_api", function(...) NULL, tests)
  assign("httptest_is_capture_enabled", function() TRUE, tests)
  assign(".edp_fetch_connection", function(...) connect(check = FALSE), tests)
}

outcome_of <- function(results) {
  if (length(results) == 0) return(c("passed", ""))
  is <- function(what) vapply(results, inherits, logical(1), what)
  bad <- is("expectation_failure") | is("expectation_error")
  if (any(bad)) return(c("failed", conditionMessage(results[[which(bad)[1]]])))
  skips <- is("expectation_skip")
  if (any(skips)) return(c("skipped", conditionMessage(results[[which(skips)[1]]])))
  c("passed", "")
}

for (file in arguments[-(1:2)]) {
  found <- test_file(file, reporter = ListReporter$new(), env = tests, load_helpers = FALSE, stop_on_failure = FALSE)
  for (test in found) {
    outcome <- outcome_of(test$results)
    name <- paste(sub("\\.R$", "", basename(file)), if (is.na(test$test)) "(outside of tests)" else test$test)
    line <- list(test = name, outcome = outcome[1], message = substr(outcome[2], 1, 1500))
    cat(jsonlite::toJSON(line, auto_unbox = TRUE), "\n", sep = "")
  }
}
